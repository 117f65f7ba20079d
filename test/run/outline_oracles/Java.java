// Prints the names that the files declare, as javac reads them: one JSON line per file.
import com.sun.source.tree.*;
import com.sun.source.util.*;
import java.util.*;
import javax.tools.*;

public class Java {
  static void listNames(ClassTree type, String prefix, List<String> names) {
    String name = prefix + type.getSimpleName();
    names.add(name);
    for (Tree member : type.getMembers()) {
      if (member instanceof ClassTree inner) listNames(inner, name + ".", names);
      if (member instanceof VariableTree field) names.add(name + "." + field.getName());
      if (member instanceof MethodTree method) {
        boolean isConstructor = method.getName().contentEquals("<init>");
        names.add(name + "." + (isConstructor ? type.getSimpleName() : method.getName()));
      }
    }
  }

  public static void main(String[] paths) throws Exception {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null);
    for (String path : paths) {
      JavacTask task = (JavacTask) compiler.getTask(null, files, null, List.of("-proc:none"), null, files.getJavaFileObjects(path));
      List<String> names = new ArrayList<>();
      for (CompilationUnitTree unit : task.parse())
        for (Tree declaration : unit.getTypeDecls())
          if (declaration instanceof ClassTree type) listNames(type, "", names);
      StringBuilder json = new StringBuilder("{\"path\":\"" + path + "\",\"names\":[");
      for (int at = 0; at < names.size(); at++) json.append(at > 0 ? "," : "").append('"').append(names.get(at)).append('"');
      System.out.println(json.append("]}"));
    }
  }
}
