"""Calls of models, whoever provides them: batches of embeddings, whole answers, JSON in replies."""
