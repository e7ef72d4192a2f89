import { SchemaIssue } from "effect"

const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** A line for each field that a schema refuses: `statements.0.sql: Missing key`. */
export const issueLines = (issue: SchemaIssue.Issue): ReadonlyArray<string> =>
  format(issue).issues.map(({ message, path = [] }) =>
    path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`
  )
