package com.intellij.execution.configurations;

import java.util.List;

public class GeneralCommandLine {
    public GeneralCommandLine(List<String> command) {}

    public GeneralCommandLine withWorkDirectory(String path) {
        throw new UnsupportedOperationException();
    }
}
