"""What releases have left on disk and on the wire, read and gone on with by the code of the day; a folder a release."""
