"""The recipe that makes the bundled embedding model. Neither the build nor the tests need it."""
