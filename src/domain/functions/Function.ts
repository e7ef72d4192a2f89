import { Schema } from "effect"
import { isStorable } from "../text/StorableText.ts"

/** As Supabase's, but at most 63 characters. */
export const FunctionName = Schema.String.check(
  Schema.makeFilter(
    (name: string) => isFunctionName(name) || "Expected a letter, then letters, digits, _ and -, at most 63 characters"
  )
)

export const isFunctionName = (name: string): boolean => /^[A-Za-z][\w-]{0,62}$/.test(name)

/** The name in `function://<name>`, which webhooks may have as their URL; undefined for any other text. */
export const functionOfUrl = (url: string): string | undefined => {
  const name = url.startsWith("function://") ? url.slice("function://".length) : ""
  return isFunctionName(name) ? name : undefined
}

/** Bytes of all files of a deployment. */
export const maxSourceBytes = 10 * 1024 * 1024
const maxFiles = 1_000

/** Whether a path stays within the directory it is relative to, on every operating system. */
export const isSourcePath = (path: string): boolean =>
  path.length <= 200 &&
  path.split("/").every((part) => /^[\w@()[\]+~ -][\w.@()[\]+~ -]*$|^\.[A-Za-z_][\w.-]*$/.test(part)) &&
  // Deno reads where packages come from in this file: the registry is the operator's to choose.
  !/(^|\/)\.npmrc$/i.test(path)

/** The files by path. The text of a file, or `{"base64": …}` for bytes. */
export const SourceFiles = Schema.Record(
  Schema.String,
  Schema.Union([Schema.String, Schema.Struct({ base64: Schema.String.check(Schema.isBase64()) })])
).check(
  Schema.makeFilter((files: Readonly<Record<string, unknown>>) => {
    const paths = Object.keys(files)
    if (paths.length > maxFiles) return `Expected at most ${maxFiles} files`
    const wrong = paths.find((path) => !isSourcePath(path))
    if (wrong !== undefined)
      return { path: [wrong], issue: "Expected a relative path without . and .. segments, and no .npmrc" }
    const folders = new Set(
      paths.flatMap((path) =>
        path
          .split("/")
          .slice(0, -1)
          .map((_, n, parts) => parts.slice(0, n + 1).join("/"))
      )
    )
    const both = paths.find((path) => folders.has(path))
    return both === undefined || { path: [both], issue: "Expected a file or a folder, not both" }
  })
)
export type SourceFiles = typeof SourceFiles.Type

export const sourceBytes = (file: SourceFiles[string]): Buffer =>
  typeof file === "string" ? Buffer.from(file, "utf8") : Buffer.from(file.base64, "base64")

/** How a version is called. */
const FunctionOptions = Schema.Struct({
  /** The file that is run. Default: `index.ts`. */
  entrypoint: Schema.optionalKey(
    Schema.String.check(Schema.makeFilter((path: string) => isSourcePath(path) || "Expected a relative path"))
  ),
  /** Whether a call needs an API key or a JWT. Default: SVC_FUNCTIONS_VERIFY_JWT. */
  verify_jwt: Schema.optionalKey(Schema.Boolean)
})

export const Deployment = Schema.Struct({ ...FunctionOptions.fields, files: SourceFiles })
export type Deployment = typeof Deployment.Type

/** The name of a secret, which is that of an environment variable. */
export const SecretName = Schema.String.check(
  Schema.makeFilter(
    (name: string) =>
      isSecretName(name) ||
      "Expected capital letters, digits and _, at most 100 characters, and none of SVC_, SUPABASE_ and DENO_ at the start"
  )
)

/** Names that begin so are the service's own, or change how Deno works. */
const isSecretName = (name: string) =>
  /^[A-Z][A-Z0-9_]{0,99}$/.test(name) &&
  !/^(?:SVC|SUPABASE|DENO|NODE|LD|NPM|OTEL)_|^(?:PATH|HOME|TMPDIR|HTTPS?_PROXY|ALL_PROXY|NO_PROXY|SSL_CERT_FILE|SSL_CERT_DIR)$/.test(
    name
  )

export const SecretValue = Schema.String.check(Schema.isMaxCodePoints(24_576), isStorable)

const version = {
  version: Schema.Int,
  entrypoint: Schema.String,
  /** null: as SVC_FUNCTIONS_VERIFY_JWT says. */
  verify_jwt: Schema.NullOr(Schema.Boolean),
  /** SHA-256 of the function with its imports. */
  digest: Schema.String,
  /** Bytes of the function with its imports, compressed. */
  size: Schema.Int,
  /** The key or identity that deployed it. */
  created_by: Schema.String,
  created_at: Schema.String
}

export const FunctionVersion = Schema.Struct(version)
export type FunctionVersion = typeof FunctionVersion.Type

/** A function, with the version that is called. */
export const FunctionRecord = Schema.Struct({ name: Schema.String, ...version, updated_at: Schema.String })
export type FunctionRecord = typeof FunctionRecord.Type

/**
 * A function that can be called. Those of the folder have version 0, and nothing of a deployment. What its processes do is
 * counted since the service has started, by all of its processes on this machine.
 */
export const FunctionOverview = Schema.Struct({
  name: Schema.String,
  source: Schema.Literals(["api", "folder"]),
  ...version,
  digest: Schema.NullOr(Schema.String),
  size: Schema.NullOr(Schema.Int),
  created_by: Schema.NullOr(Schema.String),
  created_at: Schema.NullOr(Schema.String),
  updated_at: Schema.NullOr(Schema.String),
  /** `failing`: its process ended by itself, and has not been called successfully since. */
  state: Schema.Literals(["running", "idle", "failing"]),
  /** Why its process ended. */
  problem: Schema.NullOr(Schema.String),
  calls: Schema.Int,
  /** Calls without a response, or with a status from 500. */
  errors: Schema.Int
})
export type FunctionOverview = typeof FunctionOverview.Type

/** A call to try a function, as a caller that the service has verified. */
export const FunctionTrial = Schema.Struct({
  method: Schema.optionalKey(Schema.Literals(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])),
  /** What follows the function's name in the URL. */
  path: Schema.optionalKey(
    Schema.String.check(
      Schema.isMaxLength(2_000),
      Schema.makeFilter(
        (path: string) =>
          /^(?:[/?][!-~]*)?$/.test(path) || "Expected a path or query that begins with / or ?, percent-encoded"
      )
    )
  ),
  headers: Schema.optionalKey(
    Schema.Record(
      Schema.String.check(Schema.isPattern(/^[A-Za-z0-9-]{1,100}$/)),
      Schema.String.check(Schema.isPattern(/^[ -~]{0,8000}$/))
    )
  ),
  body: Schema.optionalKey(Schema.String),
  /** Default: a service_role key. */
  as: Schema.optionalKey(
    Schema.Struct({
      role: Schema.Literals(["anon", "authenticated", "service_role"]),
      sub: Schema.optionalKey(Schema.String),
      claims: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
    })
  )
})
export type FunctionTrial = typeof FunctionTrial.Type

export const FunctionTrialResult = Schema.Struct({
  status: Schema.Int,
  headers: Schema.Record(Schema.String, Schema.String),
  /** A text, or bytes. */
  body: Schema.Union([Schema.String, Schema.Struct({ base64: Schema.String })]),
  /** Until the body was complete. */
  millis: Schema.Finite,
  /** The header `x-request-id`, which the lines of the log have. */
  request_id: Schema.String
})

export const FunctionSecret = Schema.Struct({ name: Schema.String, updated_at: Schema.String })

/** A line that a function has printed. */
export const FunctionLogLine = Schema.Struct({
  id: Schema.Int,
  version: Schema.Int,
  at: Schema.String,
  level: Schema.String,
  /** The header `x-request-id`; "" for lines of no request. */
  request_id: Schema.String,
  text: Schema.String
})
export type FunctionLogLine = typeof FunctionLogLine.Type
