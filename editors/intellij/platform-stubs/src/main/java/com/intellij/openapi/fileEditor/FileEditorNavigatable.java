package com.intellij.openapi.fileEditor;

public interface FileEditorNavigatable {}
