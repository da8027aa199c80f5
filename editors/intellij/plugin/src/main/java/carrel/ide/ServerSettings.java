package carrel.ide;

import com.intellij.openapi.application.ApplicationManager;
import com.intellij.openapi.components.PersistentStateComponent;
import com.intellij.openapi.components.RoamingType;
import com.intellij.openapi.components.Service;
import com.intellij.openapi.components.State;
import com.intellij.openapi.components.Storage;

/** Which program is the server: the person's own business on this machine, so that no project can choose one. */
@Service(Service.Level.APP)
@State(name = "CarrelServer", storages = @Storage(value = "carrel.xml", roamingType = RoamingType.DISABLED))
public final class ServerSettings implements PersistentStateComponent<ServerSettings.Kept> {
    /** As the IDE writes it down. */
    public static final class Kept {
        public String program = "";
    }

    private Kept kept = new Kept();

    static ServerSettings get() {
        return ApplicationManager.getApplication().getService(ServerSettings.class);
    }

    synchronized String program() {
        return kept.program;
    }

    synchronized void setProgram(String program) {
        kept.program = program.strip();
    }

    @Override
    public synchronized Kept getState() {
        return kept;
    }

    @Override
    public synchronized void loadState(Kept state) {
        kept = state;
    }
}
