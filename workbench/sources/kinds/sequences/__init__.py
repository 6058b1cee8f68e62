"""Videos, frames of videos, sounds and arrays."""
