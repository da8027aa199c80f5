package com.redhat.devtools.lsp4ij.client;

import com.intellij.openapi.Disposable;
import com.intellij.openapi.project.Project;
import com.redhat.devtools.lsp4ij.ServerStatus;
import java.util.concurrent.CompletableFuture;
import org.eclipse.lsp4j.MessageActionItem;
import org.eclipse.lsp4j.MessageParams;
import org.eclipse.lsp4j.ProgressParams;
import org.eclipse.lsp4j.PublishDiagnosticsParams;
import org.eclipse.lsp4j.ShowMessageRequestParams;
import org.eclipse.lsp4j.services.LanguageClient;

public class LanguageClientImpl implements LanguageClient, Disposable {
    public LanguageClientImpl(Project project) {}

    protected Object createSettings() {
        throw new UnsupportedOperationException();
    }

    public void handleServerStatusChanged(ServerStatus serverStatus) {
        throw new UnsupportedOperationException();
    }

    public void triggerChangeConfiguration() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void notifyProgress(ProgressParams params) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void telemetryEvent(Object object) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void publishDiagnostics(PublishDiagnosticsParams diagnostics) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void showMessage(MessageParams messageParams) {
        throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<MessageActionItem> showMessageRequest(ShowMessageRequestParams requestParams) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void logMessage(MessageParams message) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void dispose() {
        throw new UnsupportedOperationException();
    }
}
