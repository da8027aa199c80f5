package com.redhat.devtools.lsp4ij.client.features;

import com.intellij.openapi.project.Project;
import com.intellij.openapi.vfs.VirtualFile;
import com.redhat.devtools.lsp4ij.ServerStatus;
import org.eclipse.lsp4j.InitializeParams;

public class LSPClientFeatures {
    public boolean isEnabled(VirtualFile file) {
        throw new UnsupportedOperationException();
    }

    public boolean keepServerAlive() {
        throw new UnsupportedOperationException();
    }

    public void handleServerStatusChanged(ServerStatus serverStatus) {
        throw new UnsupportedOperationException();
    }

    public void initializeParams(InitializeParams initializeParams) {
        throw new UnsupportedOperationException();
    }

    public final Project getProject() {
        throw new UnsupportedOperationException();
    }
}
