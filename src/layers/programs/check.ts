import { Effect } from "effect"
import { knownSettings } from "../../domain/Settings.ts"
import { checkDataDirectory } from "../check/DataDirectory.ts"
import { checkDatabase } from "../check/Database.ts"
import { type Checked, faulty, type CheckFinding, wanting } from "../check/Finding.ts"
import { serverChecks } from "../check/Servers.ts"
import { settingFaults } from "../check/Settings.ts"
import { unknownSettings } from "../check/UnknownSettings.ts"
import { exitWith, printResult, stylesFor } from "../process/Output.ts"
import { databaseUri } from "../postgres/Installation.ts"

/** The variable that a message begins with. */
const variableOf = (message: string) => /^[A-Z][A-Z0-9_]+/.exec(message)?.[0] ?? "Settings"

const checkParts = Effect.gen(function* () {
  const parts = [yield* checkDataDirectory, yield* checkDatabase(yield* databaseUri), ...(yield* serverChecks)]
  return parts
}).pipe(Effect.scoped)

const style = stylesFor(process.stdout)

const shown = ({ level, sql, text }: CheckFinding) => {
  const mark = level === "error" ? style.red("error  ") : style.yellow("warning")
  return [
    `  ${mark}  ${text}`,
    ...(sql === undefined
      ? []
      : [`           ${sql.by}:`, ...sql.statements.map((text) => `             ${style.cyan(`${text};`)}`)])
  ]
}

const section = ({ at, findings, part }: Checked) => [
  `${findings.length === 0 ? style.green("✓") : findings.some(({ level }) => level === "error") ? style.red("✗") : style.yellow("!")} ${style.bold(part)} ${style.dim(at)}`,
  ...findings.flatMap(shown)
]

/** `svc check`: exit code 0 if nothing was found, 1 for warnings only, 2 for errors. */
export const checkAll = Effect.fnUntraced(function* () {
  const faults = yield* settingFaults
  const settings: Checked = {
    part: "Settings",
    at: `${knownSettings().filter((one) => one.is_set).length} set`,
    findings: [
      ...faults.map((message) => faulty(variableOf(message), message)),
      ...unknownSettings(process.env).map((message) => wanting(variableOf(message), message))
    ]
  }
  // Nothing is connected to by settings that are wrong.
  const parts = [settings, ...(faults.length > 0 ? [] : yield* checkParts)]
  const findings = parts.flatMap((one) => one.findings)
  const errors = findings.filter(({ level }) => level === "error").length
  const warnings = findings.length - errors
  const summary =
    findings.length === 0
      ? "Nothing to mend"
      : `${errors} ${errors === 1 ? "error" : "errors"}, ${warnings} ${warnings === 1 ? "warning" : "warnings"}${faults.length > 0 ? "; the other parts are checked once the settings are valid" : ""}`
  yield* printResult([...parts.flatMap(section), summary].join("\n"), {
    errors,
    warnings,
    parts: parts.map(({ at, part }) => ({ part, at })),
    findings
  })
  yield* exitWith(errors > 0 ? 2 : warnings > 0 ? 1 : 0)
})
