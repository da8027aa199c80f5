package com.intellij.openapi.editor;

public interface Editor {
    Document getDocument();

    SelectionModel getSelectionModel();
}
