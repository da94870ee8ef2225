// JSONStream
