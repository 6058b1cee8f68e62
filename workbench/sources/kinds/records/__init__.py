"""Kinds with several samples in a file: TFRecord, WebDataset, RecordIO, LMDB."""
