"""Kinds with several samples per file: TFRecord, WebDataset, RecordIO, LMDB."""
