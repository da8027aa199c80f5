package com.redhat.devtools.lsp4ij.server;

import com.intellij.execution.configurations.GeneralCommandLine;
import java.io.InputStream;
import java.io.OutputStream;

public class OSProcessStreamConnectionProvider implements StreamConnectionProvider {
    public OSProcessStreamConnectionProvider() {}

    public void setCommandLine(GeneralCommandLine commandLine) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void start() throws CannotStartProcessException {
        throw new UnsupportedOperationException();
    }

    @Override
    public InputStream getInputStream() {
        throw new UnsupportedOperationException();
    }

    @Override
    public OutputStream getOutputStream() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void stop() {
        throw new UnsupportedOperationException();
    }
}
