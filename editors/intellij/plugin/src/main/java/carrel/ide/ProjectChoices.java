package carrel.ide;

import carrel.memory.ChoiceStore;
import carrel.memory.Choices;
import com.intellij.openapi.components.PersistentStateComponent;
import com.intellij.openapi.components.Service;
import com.intellij.openapi.components.State;
import com.intellij.openapi.components.Storage;
import com.intellij.openapi.components.StoragePathMacros;
import com.intellij.openapi.project.Project;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** The choices for one project, kept in the IDE's own folder: a project that was cloned can't switch anything on. */
@Service(Service.Level.PROJECT)
@State(name = "CarrelMemory", storages = @Storage(StoragePathMacros.PRODUCT_WORKSPACE_FILE))
public final class ProjectChoices implements PersistentStateComponent<ProjectChoices.Kept>, ChoiceStore {
    /** As the IDE writes it down; null is not chosen. */
    public static final class Kept {
        public Boolean ragEnabled;
        public Integer ragTopK;
        public Boolean ragAutoIndex;
        public List<String> pinned = new ArrayList<>();
    }

    private final Project project;
    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
    private volatile Choices choices = Choices.NONE;

    public ProjectChoices(Project project) {
        this.project = project;
    }

    @Override
    public Choices get() {
        return choices;
    }

    @Override
    public void set(Choices next) {
        if (!next.equals(choices)) {
            var before = choices;
            choices = next;
            CarrelProject.of(project).choicesChanged(before);
            listeners.forEach(Runnable::run);
        }
    }

    @Override
    public void onChange(Runnable listener) {
        listeners.add(listener);
    }

    @Override
    public Kept getState() {
        var kept = new Kept();
        kept.ragEnabled = choices.ragEnabled();
        kept.ragTopK = choices.ragTopK();
        kept.ragAutoIndex = choices.ragAutoIndex();
        kept.pinned = new ArrayList<>(choices.pinned());
        return kept;
    }

    @Override
    public void loadState(Kept kept) {
        choices = new Choices(kept.ragEnabled, kept.ragTopK, kept.ragAutoIndex, kept.pinned);
        listeners.forEach(Runnable::run);
    }
}
