package com.redhat.devtools.lsp4ij.server;

import com.intellij.openapi.vfs.VirtualFile;
import java.io.InputStream;
import java.io.OutputStream;

public interface StreamConnectionProvider {
    void start() throws CannotStartProcessException;

    InputStream getInputStream();

    OutputStream getOutputStream();

    default Object getInitializationOptions(VirtualFile rootUri) {
        throw new UnsupportedOperationException();
    }

    void stop();
}
