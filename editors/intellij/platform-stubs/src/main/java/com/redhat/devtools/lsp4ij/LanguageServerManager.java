package com.redhat.devtools.lsp4ij;

import com.intellij.openapi.project.Project;
import java.util.concurrent.CompletableFuture;

public class LanguageServerManager {
    public static LanguageServerManager getInstance(Project project) {
        throw new UnsupportedOperationException();
    }

    public ServerStatus getServerStatus(String languageServerId) {
        throw new UnsupportedOperationException();
    }

    public void start(String languageServerId, StartOptions options) {
        throw new UnsupportedOperationException();
    }

    public void stop(String languageServerId, StopOptions options) {
        throw new UnsupportedOperationException();
    }

    public CompletableFuture<LanguageServerItem> getLanguageServer(String languageServerId) {
        throw new UnsupportedOperationException();
    }

    public static class StartOptions {
        public StartOptions setForceStart(boolean forceStart) {
            throw new UnsupportedOperationException();
        }

        public StartOptions setForceRestart(boolean forceRestart) {
            throw new UnsupportedOperationException();
        }

        public StartOptions setWillEnable(boolean willEnable) {
            throw new UnsupportedOperationException();
        }
    }

    public static class StopOptions {
        public StopOptions setWillDisable(boolean willDisable) {
            throw new UnsupportedOperationException();
        }
    }
}
