package com.redhat.devtools.lsp4ij;

import org.eclipse.lsp4j.ServerCapabilities;
import org.eclipse.lsp4j.services.LanguageServer;

public class LanguageServerItem {
    public LanguageServer getServer() {
        throw new UnsupportedOperationException();
    }

    public ServerCapabilities getServerCapabilities() {
        throw new UnsupportedOperationException();
    }
}
