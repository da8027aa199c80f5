package carrel.panel;

/** Opens files in the editor. */
public interface Places {
    /** {@code line} is 1-based. */
    void open(String uri, int line);
}
