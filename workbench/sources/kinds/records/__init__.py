"""Records of several samples in a file: TFRecord, RecordIO, LMDB."""
