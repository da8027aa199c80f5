package carrel.ide;

import com.intellij.ide.impl.TrustedProjects;
import com.intellij.openapi.project.Project;

/** Whether a person trusts a project, or has opened it in safe mode. */
final class Trust {
    private Trust() {}

    static boolean isIn(Project project) {
        try {
            return TrustedProjects.isTrusted(project); // IntelliJ 2024.2
        } catch (LinkageError moved) {
            return com.intellij.ide.trustedProjects.TrustedProjects.isProjectTrusted(project);
        }
    }
}
