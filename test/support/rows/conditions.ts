import * as fc from "fast-check"
import { sqlText } from "../properties.ts"

/** A condition in the query grammar and in SQL; the SQL is written here independently, to compare results. */
export type Condition = Leaf | Tree

interface Leaf {
  readonly field: string
  /** The test outside of a logic tree: `eq.a,b`. */
  readonly test: string
  /** The test inside of one: `eq."a,b"`. */
  readonly inside: string
  readonly negated: boolean
  readonly sql: string
  /** Whether the condition is unknown where its field is null; otherwise it is never unknown. */
  readonly strict: boolean
}

interface Tree {
  readonly logic: "and" | "or"
  readonly negated: boolean
  readonly parts: ReadonlyArray<Condition>
}

const not = (negated: boolean) => (negated ? "not." : "")

/** The condition as part of a logic tree. */
export const inside = (condition: Condition): string =>
  "logic" in condition
    ? `${not(condition.negated)}${condition.logic}(${condition.parts.map(inside).join()})`
    : `${condition.field}.${not(condition.negated)}${condition.inside}`

/** The condition as a pair of the query string, which is ANDed with the other filters. */
export const asPair = (condition: Condition): readonly [string, string] =>
  "logic" in condition
    ? [`${not(condition.negated)}${condition.logic}`, `(${condition.parts.map(inside).join()})`]
    : [condition.field, `${not(condition.negated)}${condition.test}`]

export const toSql = (condition: Condition): string => {
  const sql =
    "logic" in condition
      ? condition.parts.map((part) => `(${toSql(part)})`).join(` ${condition.logic} `)
      : condition.sql
  return condition.negated ? `not (${sql})` : sql
}

export const negation = (condition: Condition): Condition => ({ ...condition, negated: !condition.negated })

const tree = (logic: "and" | "or", ...parts: ReadonlyArray<Condition>): Tree => ({ logic, negated: false, parts })

const isNull = (field: string, negated: boolean): Leaf => {
  const test = "is.null"
  return { field, test, inside: test, negated, sql: `false`, strict: false }
}

const never: Leaf = { field: "id", test: "is.null", inside: "is.null", negated: false, sql: "false", strict: false }

/** A condition that is true where the given one is unknown, and false elsewhere. */
export const unknown = (condition: Condition): Condition => {
  if (!("logic" in condition)) return condition.strict ? isNull(condition.field, false) : never
  // Some part is unknown, and no part alone determines the result.
  const decides = condition.parts.map((part) => certainly(part, condition.logic === "or"))
  return tree("and", tree("or", ...condition.parts.map(unknown)), ...decides.map(negation))
}

/** A condition that is true where the given one has the value, and false elsewhere, so that it can be negated. */
const certainly = (condition: Condition, value: boolean): Condition => {
  const holds = condition.negated !== value
  if (!("logic" in condition)) {
    const plain = { ...condition, negated: !holds }
    return condition.strict ? tree("and", plain, isNull(condition.field, true)) : plain
  }
  return holds === (condition.logic === "and")
    ? tree("and", ...condition.parts.map((part) => certainly(part, holds)))
    : tree("or", ...condition.parts.map((part) => certainly(part, holds)))
}

export const conditionTable = `
  create type mood as enum ('sad', 'so so', 'glad');
  create type place as (name text, zip int);
  create table things (
    id int primary key, n int, x numeric, f float8, t text, ok boolean, d date, at timestamptz, uid uuid, mood mood,
    tags text[], nums int[], doc jsonb, js json, span int4range, times tsrange, words tsvector, place place,
    "odd ""name"", (x)" text);
  insert into things
    select i, nullif(i % 7, 0), (array[0.5, -1, 1.50, null, 1e20])[1 + i % 5], (array['NaN', 0, 1.5, null, '-Infinity'])[1 + i % 5]::float8,
      (array['x', 'xy', 'a,b', '"q"', null, '', 'a b', '(x)', 'fat cats', 'null', 'Ä*é', 'back\\slash', '50%', 'a.b:c'])[1 + i % 14],
      (array[true, false, null])[1 + i % 3], '2026-01-01'::date + nullif(i % 6, 0), '2026-01-01T00:00:00Z'::timestamptz + nullif(i % 4, 0) * interval '1 hour',
      ('00000000-0000-0000-0000-00000000000' || nullif(i % 3, 0))::uuid, (array['sad', 'so so', 'glad', null])[1 + i % 4]::mood,
      (array['{a,b}', '{}', null, '{b}', '{"a,b","\\"",NULL}'])[1 + i % 5]::text[], (array['{1,2}', '{}', null, '{2,3}'])[1 + i % 4]::int[],
      (array['{"k": 1, "s": "v", "l": [1, {"m": "n"}], "a b": true}'::jsonb, '{"k": null}', '[1, 2]', null, '{"s": "w", "k": 2}', '"s"', '7'])[1 + i % 7],
      (array['{"k": 1, "s": "v"}', '{"s": "it''s \\"x\\""}', null, '[{"k": "v"}]'])[1 + i % 4]::json,
      (array['[1,5)', 'empty', null, '[3,9)', '(,4)'])[1 + i % 5]::int4range, (array['[2026-01-01,2026-02-01)', null])[1 + i % 2]::tsrange,
      to_tsvector('english', (array['fat cats eat', 'a rat', null])[1 + i % 3]), (array[row('home', 1)::place, null, row(null, 2)::place, row('a"b', null)::place])[1 + i % 4],
      (array['x', null, 'y'])[1 + i % 3]
    from generate_series(1, 84) i;`

const array = (values: ReadonlyArray<string>) =>
  `{${values.map((value) => `"${value.replaceAll(/["\\]/g, "\\$&")}"`).join()}}`
const quoted = (value: string) => `"${value.replaceAll(/["\\]/g, "\\$&")}"`
const plain = /^[\w -]*[\w-]$/

/** A test `operator.value`, outside and inside of a tree; `sql` contains the value as a literal. */
const test = (field: string, operator: string, value: string, sql: string, strict = true): fc.Arbitrary<Leaf> =>
  fc.tuple(fc.boolean(), fc.boolean()).map(([negated, bare]) => ({
    field,
    test: `${operator}.${value}`,
    inside: `${operator}.${bare && plain.test(value) ? value : quoted(value)}`,
    negated,
    sql,
    strict
  }))

const ordered: Readonly<Record<string, string>> = { eq: "=", neq: "<>", gt: ">", gte: ">=", lt: "<", lte: "<=" }
const patterns: Readonly<Record<string, string>> = { like: "like", ilike: "ilike", match: "~", imatch: "~*" }
const operatorsOf = (names: Readonly<Record<string, string>>) => fc.constantFrom(...Object.entries(names))

/** Any comparison of an ordered type. `column` is the field in SQL, `values` are of its type. */
const compared = (field: string, column: string, values: ReadonlyArray<string>, type = "text"): fc.Arbitrary<Leaf> => {
  const value = fc.constantFrom(...values)
  const some = fc.uniqueArray(value, { minLength: 1, maxLength: 3 })
  const literal = (text: string) => `${sqlText(text)}::${type}`
  return fc.oneof(
    fc
      .tuple(operatorsOf(ordered), value)
      .chain(([[name, sign], of]) => test(field, name, of, `${column} ${sign} ${literal(of)}`)),
    value.chain((of) => test(field, "isdistinct", of, `${column} is distinct from ${literal(of)}`, false)),
    fc
      .tuple(
        operatorsOf(ordered).filter(([name]) => name !== "neq"),
        fc.constantFrom("any", "all"),
        some
      )
      .chain(([[name, sign], how, of]) =>
        test(field, `${name}(${how})`, array(of), `${column} ${sign} ${how} (${sqlText(array(of))}::${type}[])`)
      ),
    fc.tuple(fc.array(value, { maxLength: 3 }), fc.boolean()).map(([of, negated]) => {
      const text = `in.(${of.map(quoted).join()})`
      const sql = `${column} = any (${sqlText(array(of))}::${type}[])`
      return { field, test: text, inside: text, negated, sql, strict: of.length > 0 }
    }),
    isLeaf(field, column, "null", "not_null")
  )
}

const isLeaf = (field: string, column: string, ...names: ReadonlyArray<string>): fc.Arbitrary<Leaf> =>
  fc.tuple(fc.constantFrom(...names), fc.boolean()).map(([name, negated]) => ({
    field,
    test: `is.${name}`,
    inside: `is.${name}`,
    negated,
    sql: `${column} is ${name.replace("_", " ")}`,
    strict: false
  }))

const matched = (field: string, column: string): fc.Arbitrary<Leaf> => {
  const of = (name: string) =>
    name.endsWith("like")
      ? ["x*", "*Y", "*", "_", "%b", "a,b", "*\\\\*", '"*', "A*"]
      : ["^x", "^X.$", "[ab]", "a,b", "\\(x\\)", ".", '"']
  const spread = (name: string, text: string) => (name.endsWith("like") ? text.replaceAll("*", "%") : text)
  return operatorsOf(patterns).chain(([name, sign]) =>
    fc.oneof(
      fc
        .constantFrom(...of(name))
        .chain((pattern) => test(field, name, pattern, `${column} ${sign} ${sqlText(spread(name, pattern))}`)),
      fc
        .tuple(
          fc.constantFrom("any", "all"),
          fc.uniqueArray(fc.constantFrom(...of(name)), { minLength: 1, maxLength: 3 })
        )
        .chain(([how, some]) =>
          test(
            field,
            `${name}(${how})`,
            array(some),
            `${column} ${sign} ${how} (${sqlText(spread(name, array(some)))}::text[])`
          )
        )
    )
  )
}

const searched = (field: string, column: string, languages: ReadonlyArray<string | undefined>): fc.Arbitrary<Leaf> =>
  fc.tuple(fc.constantFrom("", "pl", "ph", "w"), fc.constantFrom(...languages)).chain(([kind, language]) => {
    const query = { "": "to", pl: "plainto", ph: "phraseto", w: "websearch_to" }[kind]
    const first = language === undefined ? "" : `${sqlText(language)}, `
    const document = column === "words" ? column : `to_tsvector(${first}${column})`
    return fc
      .constantFrom(...(kind === "" ? ["cat & fat", "!rat", "'cat' | 'x'"] : ["fat cats", "rat", '"fat cats" -eat']))
      .chain((text) =>
        test(
          field,
          `${kind}fts${language === undefined ? "" : `(${language})`}`,
          text,
          `${document} @@ ${query}_tsquery(${first}${sqlText(text)})`
        )
      )
  })

const held = (
  field: string,
  column: string,
  type: string,
  signs: Readonly<Record<string, string>>,
  ...values: ReadonlyArray<string>
) =>
  fc
    .tuple(operatorsOf(signs), fc.constantFrom(...values))
    .chain(([[name, sign], of]) => test(field, name, of, `${column} ${sign} ${sqlText(of)}::${type}`))

const sets = { cs: "@>", cd: "<@", ov: "&&", eq: "=", neq: "<>" }
const ranges = { ...sets, sl: "<<", sr: ">>", nxr: "&<", nxl: "&>", adj: "-|-" }
const texts = ["x", "xy", "a,b", '"q"', "", "a b", "(x)", "null", "Ä*é", "back\\slash", "50%", "a.b:c", "it's", "{x}"]
const odd = '"odd \\"name\\", (x)"'
const oddSql = '"odd ""name"", (x)"'

/** A condition on a column of `conditionTable`, or on a JSON path in one. */
const anyLeaf: fc.Arbitrary<Leaf> = fc.oneof(
  compared("n", "n", ["1", "3", "-5"], "int"),
  compared("x", "x", ["0.5", "1.5", "-1.00", "1e20", "NaN"], "numeric"),
  compared("f", "f", ["0", "1.5", "NaN", "-Infinity"], "float8"),
  { weight: 3, arbitrary: compared("t", "t", texts) },
  { weight: 2, arbitrary: matched("t", "t") },
  searched("t", "t", [undefined, "english", "simple"]),
  searched("words", "words", [undefined, "english"]),
  isLeaf("ok", "ok", "null", "not_null", "true", "false", "unknown"),
  compared("ok", "ok", ["true", "f"], "boolean"),
  compared("d", "d", ["2026-01-03", "infinity"], "date"),
  compared("at", "at", ["2026-01-01T02:00:00+00:00", "2026-01-01 03:00:00+01"], "timestamptz"),
  compared("uid", "uid", ["00000000-0000-0000-0000-000000000001"], "uuid"),
  compared("mood", "mood", ["sad", "so so"], "mood"),
  held("tags", "tags", "text[]", sets, "{a}", "{a,b}", "{}", '{"a,b"}', '{"\\""}'),
  held("nums", "nums", "int[]", sets, "{1}", "{2,1}", "{}"),
  held("span", "span", "int4range", ranges, "[2,3)", "(,4)", "[9,12]", "empty"),
  held(
    "times",
    "times",
    "tsrange",
    ranges,
    "[2026-01-05,2026-01-06)",
    "[2026-02-01,)",
    '["2026-01-01 00:00:00","2026-02-01 00:00:00")'
  ),
  held("doc", "doc", "jsonb", { cs: "@>", cd: "<@", eq: "=", neq: "<>" }, '{"k":1}', "{}", '{"k": null}', "[1]", '"s"'),
  compared("doc->>s", "(doc->>'s')", ["v", "w"]),
  compared("doc->k", "(doc->'k')", ["1", "null", '"x"'], "jsonb"),
  compared("doc->l->0", "(doc->'l'->0)", ["1"], "jsonb"),
  compared("doc->l->-1->>m", "(doc->'l'->-1->>'m')", ["n", "a,b"]),
  compared('doc->>"a b"', "(doc->>'a b')", ["true"]),
  compared("doc->>0", "(doc->>0)", ["1"]),
  compared("js->>s", "(js->>'s')", ["v", 'it\'s "x"']),
  compared("js->0->>k", "(js->0->>'k')", ["v"]),
  matched("doc->>s", "(doc->>'s')"),
  compared("tags->>0", "(to_jsonb(tags)->>0)", ["a", "a,b"]),
  compared("nums->1", "(to_jsonb(nums)->1)", ["2"], "jsonb"),
  compared("place->>name", "(to_jsonb(place)->>'name')", ["home", 'a"b']),
  compared("place->zip", "(to_jsonb(place)->'zip')", ["1"], "jsonb"),
  compared(odd, oddSql, ["x", "y,z"]),
  matched(odd, oddSql)
)

export const anyCondition: fc.Arbitrary<Condition> = fc.letrec<{ any: Condition }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    anyLeaf,
    fc.record({
      logic: fc.constantFrom("and" as const, "or" as const),
      negated: fc.boolean(),
      parts: fc.array(tie("any"), { minLength: 1, maxLength: 3 })
    })
  )
})).any
