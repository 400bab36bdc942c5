import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.rocketmq.filter.expression.EvaluationContext;
import org.apache.rocketmq.filter.expression.Expression;
import org.apache.rocketmq.filter.expression.MQFilterException;
import org.apache.rocketmq.filter.parser.SelectorParser;
import org.apache.rocketmq.filter.util.BloomFilter;

/**
 * What the reference says of expressions, or of bloom filters. Cases come line by line, as filter/tests/cases/mod.rs writes
 * them, and leave with a verdict in front; with the argument "bloom", lines of error rate, consumers and text come, and leave
 * with the bits of the map, the number of hashes and the positions of the text behind them.
 */
public class Verdicts {
    public static void main(String[] arguments) throws Exception {
        boolean bloom = arguments.length > 0 && arguments[0].equals("bloom");
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(bloom ? line + "\t" + bloom(line.split("\t", -1)) : verdict(line.split("\t", -1)) + "\t" + line);
        }
        out.flush();
    }

    private static String verdict(String[] columns) {
        Expression expression;
        try {
            expression = SelectorParser.parse(decoded(columns[0]));
        } catch (MQFilterException e) {
            return "X";
        }
        StringBuilder verdict = new StringBuilder();
        for (int i = 1; i < columns.length; i++) {
            verdict.append(letter(expression, properties(columns[i])));
        }
        return verdict.toString();
    }

    private static char letter(Expression expression, Map<String, String> properties) {
        try {
            Object result = expression.evaluate(new EvaluationContext() {
                @Override
                public Object get(String name) {
                    return properties.get(name);
                }

                @Override
                public Map<String, Object> keyValues() {
                    return new HashMap<>(properties);
                }
            });
            return result == null ? 'N' : (Boolean) result ? 'T' : 'F';
        } catch (Exception e) {
            return 'E';
        }
    }

    private static String bloom(String[] columns) {
        BloomFilter filter;
        try {
            filter = BloomFilter.createByFn(Integer.parseInt(columns[0]), Integer.parseInt(columns[1]));
        } catch (IllegalArgumentException e) {
            return "X";
        }
        StringBuilder shape = new StringBuilder().append(filter.getM()).append('\t').append(filter.getK());
        for (int position : filter.calcBitPositions(decoded(columns[2]))) {
            shape.append('\t').append(position);
        }
        return shape.toString();
    }

    private static Map<String, String> properties(String column) {
        Map<String, String> properties = new HashMap<>();
        for (String pair : column.split(";")) {
            int at = pair.indexOf('=');
            if (at > 0) {
                properties.put(decoded(pair.substring(0, at)), decoded(pair.substring(at + 1)));
            }
        }
        return properties;
    }

    private static String decoded(String column) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < column.length(); i++) {
            if (column.startsWith("\\u", i)) {
                text.append((char) Integer.parseInt(column.substring(i + 2, i + 6), 16));
                i += 5;
            } else {
                text.append(column.charAt(i));
            }
        }
        return text.toString();
    }
}
