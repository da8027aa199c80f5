package carrel.memory;

import java.net.URI;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * The folders that a person excluded from the project in the IDE, by their absolute paths with slashes.
 *
 * <p>What lies inside one is left out with it, also where the IDE counts a root inside as content again: the server lets a
 * {@code !} win over ignore files, so saying one would bring in what the repository leaves out.
 */
public record ExcludedFolders(List<String> paths) {
    public static final ExcludedFolders NONE = new ExcludedFolders(List.of());

    private static final String LOCAL = "file://";
    private static final Pattern DRIVE_AS_FOLDER = Pattern.compile("^/(?=[A-Za-z]:)");
    private static final Pattern WINDOWS = Pattern.compile("^([A-Za-z]:|//).*", Pattern.DOTALL);
    private static final Pattern SPECIAL = Pattern.compile("[\\\\*?\\[\\]{}]");

    public ExcludedFolders {
        paths = List.copyOf(new TreeSet<>(paths));
    }

    /** From the IDE's own URLs, which are {@code file://} and the path as it is, not encoded. Those of jars are left out. */
    public static ExcludedFolders ofUrls(Collection<String> urls) {
        return new ExcludedFolders(urls.stream()
                .filter(url -> url.startsWith(LOCAL))
                .map(url -> plain(url.substring(LOCAL.length())))
                .toList());
    }

    /**
     * Those below a workspace folder, as lines of a .gitignore at its root. One that is the folder itself, or around it, is left
     * out: the folder was opened to be read. {@code folder} is an LSP URI.
     */
    public List<String> globs(String folder) {
        var below = pathOf(folder).map(root -> paths.stream().flatMap(path -> below(root, path).stream()).toList()).orElse(List.of());
        return below.stream()
                .filter(path -> below.stream().noneMatch(outer -> path.startsWith(outer + "/")))
                // The slash at the end also keeps blanks there, which a .gitignore drops.
                .map(path -> "/" + SPECIAL.matcher(path).replaceAll("\\\\$0") + "/")
                .toList();
    }

    /** The part of the path that is below the root, if it is. */
    private static Optional<String> below(String root, String path) {
        var start = root + "/";
        var anyCase = WINDOWS.matcher(root).matches(); // the drive's letter differs between a project's path and its modules'
        return path.length() > start.length() && path.regionMatches(anyCase, 0, start, 0, start.length())
                ? Optional.of(path.substring(start.length()))
                : Optional.empty();
    }

    private static Optional<String> pathOf(String folder) {
        try {
            var uri = URI.create(folder);
            var host = uri.getRawAuthority() == null ? "" : "//" + uri.getRawAuthority();
            return "file".equals(uri.getScheme()) && uri.getPath() != null ? Optional.of(plain(host + uri.getPath())) : Optional.empty();
        } catch (IllegalArgumentException unreadable) {
            return Optional.empty();
        }
    }

    /** As the IDE writes paths: {@code C:/shop} without a slash before it, and no slash at the end. */
    private static String plain(String path) {
        int end = path.length();
        while (end > 0 && path.charAt(end - 1) == '/') {
            end--;
        }
        return DRIVE_AS_FOLDER.matcher(path.substring(0, end)).replaceFirst("");
    }
}
