package com.intellij.openapi.editor;

public interface Editor {
    SelectionModel getSelectionModel();
}
