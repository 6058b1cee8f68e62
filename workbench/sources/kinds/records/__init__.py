"""Define source kinds with several samples per file: TFRecord, WebDataset, RecordIO, LMDB."""
