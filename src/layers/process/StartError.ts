import { Cause, Data, Effect } from "effect"
import { SettingError } from "../../domain/Settings.ts"

/** Something that the service needs could not be started; the message is one line for the operator. */
export class StartError extends Data.TaggedError("StartError")<{ readonly message: string }> {}

/** The `code` of an error of Node. */
export const errorCode = (cause: unknown): string | undefined =>
  typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : undefined

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is in use",
  EADDRNOTAVAIL: "this machine does not have the address",
  ENOTFOUND: "the host name does not exist",
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of the path is not a directory",
  EEXIST: "a file of this name exists",
  ENOENT: "the file does not exist"
}

/** An error of one line: `<problem>: <reason>`. */
export const startError = (problem: string, cause: unknown) => {
  const text = cause instanceof Error ? cause.message : String(cause)
  const reason = reasons[errorCode(cause) ?? ""] ?? text.split("\n")[0]
  return new StartError({ message: `${problem}: ${reason}` })
}

/** A promise whose rejection becomes a StartError `<problem>: <reason>`. */
export const attempt = <A>(problem: string, run: () => Promise<A>): Effect.Effect<A, StartError> =>
  Effect.tryPromise({ try: run, catch: (cause) => startError(problem, cause) })

const known = new Set(["SettingError", "StartError", "InstallError", "DataDirInUse"])

/**
 * One line for a known failure to start, or one for each invalid setting; anything else is a bug and is shown with its
 * cause.
 */
export const startFailure = (cause: Cause.Cause<unknown>): string => {
  const failures = cause.reasons.flatMap((reason) => (reason._tag === "Fail" ? [reason.error] : []))
  const settings = failures.filter((failure) => failure instanceof SettingError)
  if (settings.length > 0) return settings.map(({ message }) => `svc: ${message}`).join("\n")
  const [failure] = failures
  const tag = (failure as { readonly _tag?: string } | undefined)?._tag ?? ""
  return known.has(tag) ? `svc: ${(failure as Error).message}` : Cause.pretty(cause)
}
