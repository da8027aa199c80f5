package carrel.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class ExcludedFoldersTest {
    @Test
    void aFolderIsBoundToTheRootOfItsWorkspace() {
        check("file:///home/ann/shop/", List.of("file:///home/ann/shop/gen/api"), "/gen/api/");
        check("file:///home/ann/shop", List.of("file:///home/ann/shop/gen/"), "/gen/");
        check("file:///", List.of("file:///gen"), "/gen/");
    }

    @Test
    void whatIsElsewhereIsLeftOut() {
        check("file:///home/ann/shop/", List.of("file:///home/ann/shopping/gen", "file:///home/bob/gen"));
        check("file:///home/ann/shop/", List.of("jar:///home/ann/shop/lib/a.jar!/gen", "temp:///home/ann/shop/gen"));
        check("untitled:shop", List.of("file:///home/ann/shop/gen"));
        check("file:///home/ann/my shop", List.of("file:///home/ann/my shop/gen"));
    }

    @Test
    void theOpenedFolderIsReadThoughItIsExcludedItselfOrWithWhatIsAroundIt() {
        var urls = List.of("file:///home/ann/shop", "file:///home/ann", "file:///", "file:///home/ann/shop/gen");
        check("file:///home/ann/shop/", urls, "/gen/");
    }

    @Test
    void rootsInsideEachOtherAreSaidOnceAndForEachFolderItsOwnWay() {
        var urls = List.of(
                "file:///shop/parts/cart/out/classes",
                "file:///shop/parts/cart/out",
                "file:///shop/out",
                "file:///shop/out-of-stock",
                "file:///shop/out");
        check("file:///shop/", urls, "/out/", "/out-of-stock/", "/parts/cart/out/");
        check("file:///shop/parts/cart/", urls, "/out/");
        check("file:///shop/parts/cart/out/", urls, "/classes/");
    }

    @Test
    void whatIsSpecialInAGlobIsTakenAsItStands() {
        check("file:///a%20b/%C3%BC", List.of("file:///a b/ü/[old] {1,2}/*?"), "/\\[old\\] \\{1,2\\}/\\*\\?/");
        check("file:///shop", List.of("file:///shop/!keep", "file:///shop/#1", "file:///shop/50%25 "), "/!keep/", "/#1/", "/50%25 /");
        check("file:///shop", List.of("file:///shop/back\\slash"), "/back\\\\slash/");
    }

    @Test
    void windowsWritesItsPathsInManyWays() {
        check("file:///c:/Users/Ann/shop/", List.of("file://C:/Users/Ann/shop/gen/api", "file://D:/Users/Ann/shop/gen"), "/gen/api/");
        check("file:///C%3A/Users/Ann/shop", List.of("file:///c:/Users/ann/shop/Gen"), "/Gen/");
        check("file://server/share/shop/", List.of("file:////server/share/shop/gen"), "/gen/");
        check("file:////wsl$/Ubuntu/home/ann", List.of("file:////wsl$/Ubuntu/home/ann/gen"), "/gen/");
        check("file:///home/Ann", List.of("file:///home/ann/gen")); // elsewhere case counts
    }

    private static void check(String folder, List<String> urls, String... globs) {
        assertEquals(List.of(globs), ExcludedFolders.ofUrls(urls).globs(folder));
    }
}
