"""Help of models with a search: planning before it, reranking and judging after it."""
