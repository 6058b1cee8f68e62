"""Images with annotations in a file of COCO."""
