"""What an allocator's acts are called between a watched process and `vramfit record`."""

ALLOCATE, LET_GO, GIVEN_BACK, SEGMENT, SEGMENT_FREED, EMPTY_CACHE, OUT_OF_MEMORY = "adfsreo"
