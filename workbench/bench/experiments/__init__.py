"""Run experiments that compare devices and libraries, measure scaling, tune, and time stages."""
