package com.intellij.execution.configurations;

import java.nio.file.Path;
import java.util.List;

public class GeneralCommandLine {
    public GeneralCommandLine(List<String> command) {}

    public GeneralCommandLine withWorkingDirectory(Path workingDirectory) {
        throw new UnsupportedOperationException();
    }
}
