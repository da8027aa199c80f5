"""Sources beside the workspace: folders of documents, histories, published repositories."""
