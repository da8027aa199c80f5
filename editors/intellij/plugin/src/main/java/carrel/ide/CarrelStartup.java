package carrel.ide;

import com.intellij.openapi.project.Project;
import com.intellij.openapi.startup.ProjectActivity;
import kotlin.Unit;
import kotlin.coroutines.Continuation;

/** Starts the server with a project whose memory is on; the server indexes by itself where that was chosen. */
public final class CarrelStartup implements ProjectActivity {
    @Override
    public Object execute(Project project, Continuation<? super Unit> continuation) {
        CarrelProject.of(project).startIfChosen();
        return Unit.INSTANCE;
    }
}
