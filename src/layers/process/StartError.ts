import { Cause, Console, Data, Effect } from "effect"

/** Something the service needs could not be started; the message is one line for the person at the terminal. */
export class StartError extends Data.TaggedError("StartError")<{ readonly message: string }> {}

/** What Node's errors have beside their message. */
export const errorCode = (cause: unknown): string | undefined =>
  typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : undefined

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is in use",
  EADDRNOTAVAIL: "this machine has no such address",
  ENOTFOUND: "no such host",
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of the path is not a directory",
  EEXIST: "there is a file of this name",
  ENOENT: "no such file"
}

/** One line: what was tried and why it failed. */
export const startError = (tried: string, cause: unknown) => {
  const text = cause instanceof Error ? cause.message : String(cause)
  const reason = reasons[errorCode(cause) ?? ""] ?? text.split("\n")[0]
  return new StartError({ message: `${tried}: ${reason}` })
}

/** A promise whose rejection is a StartError `<tried>: <reason>`. */
export const attempt = <A>(tried: string, run: () => Promise<A>): Effect.Effect<A, StartError> =>
  Effect.tryPromise({ try: run, catch: (cause) => startError(tried, cause) })

const known = new Set(["SettingError", "StartError", "InstallError", "DataDirInUse"])

/** What stops the start is one line for whoever started it; anything else is a bug and shows its cause. */
export const reportStartFailure = (cause: Cause.Cause<unknown>) => {
  const failure = cause.reasons.find((reason) => reason._tag === "Fail")?.error
  const tag = (failure as { readonly _tag?: string } | undefined)?._tag ?? ""
  return Console.error(known.has(tag) ? `svc: ${(failure as Error).message}` : Cause.pretty(cause))
}
