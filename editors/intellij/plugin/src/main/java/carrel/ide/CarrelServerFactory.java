package carrel.ide;

import carrel.protocol.CarrelServer;
import com.intellij.openapi.project.Project;
import com.redhat.devtools.lsp4ij.LanguageServerFactory;
import com.redhat.devtools.lsp4ij.client.LanguageClientImpl;
import com.redhat.devtools.lsp4ij.client.features.LSPClientFeatures;
import com.redhat.devtools.lsp4ij.server.StreamConnectionProvider;
import org.eclipse.lsp4j.services.LanguageServer;

/** What LSP4IJ needs to run the server. */
public final class CarrelServerFactory implements LanguageServerFactory {
    /** As in plugin.xml. */
    static final String ID = "carrel";

    @Override
    public StreamConnectionProvider createConnectionProvider(Project project) {
        return new CarrelConnection(CarrelProject.of(project));
    }

    @Override
    public LanguageClientImpl createLanguageClient(Project project) {
        return new CarrelLanguageClient(project, CarrelProject.of(project));
    }

    @Override
    public Class<? extends LanguageServer> getServerInterface() {
        return CarrelServer.class;
    }

    @Override
    public LSPClientFeatures createClientFeatures() {
        return new CarrelFeatures();
    }
}
