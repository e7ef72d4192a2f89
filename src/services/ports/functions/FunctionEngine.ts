import { Context, type Effect, type Scope } from "effect"
import {
  type BadGateway,
  type GatewayTimeout,
  type NotImplemented,
  type PayloadTooLarge,
  type Unavailable,
  type Unprocessable
} from "../../../domain/errors.ts"
import { type SourceFiles } from "../../../domain/functions/Function.ts"
import { type FunctionReply, type PassedOnCall } from "../supabase/FunctionServer.ts"

/** What a process of a function prints, a line or a call of `console`. */
export interface PrintedLine {
  readonly level: "debug" | "info" | "warn" | "error"
  /** The request that it belongs to; "" if that is not known. */
  readonly requestId: string
  readonly text: string
}

/** A version of a function, ready to be run. */
export interface RunnableFunction {
  /** Identifies the content of the bundle. */
  readonly digest: string
  readonly entrypoint: string
  /** All files that it needs, its imports included, as `build` has made them. */
  readonly bundle: Effect.Effect<Uint8Array, Unavailable>
  /** All variables of its environment. */
  readonly env: Readonly<Record<string, string>>
  readonly printed: (line: PrintedLine) => void
}

export interface FunctionProcess {
  readonly pid: number
  /** Passes a request on, until the scope closes. It is sent once. */
  readonly call: (
    call: PassedOnCall
  ) => Effect.Effect<FunctionReply, BadGateway | GatewayTimeout | PayloadTooLarge, Scope.Scope>
  /** False if its event loop has not run for `millis` ms; true once it answers, or when the process ends. */
  readonly ping: (millis: number) => Promise<boolean>
  /** Its resident memory in bytes; undefined where the system does not say. */
  readonly memory: () => number | undefined
  /** Ends it at once. `why` is what `ended` gives. */
  readonly end: (why: string) => void
  /** Completes once it has ended, with the reason. */
  readonly ended: Promise<string>
}

/** Port: the engine that builds and runs functions. Implemented by layers/functions/Engine.ts. */
export class FunctionEngine extends Context.Service<
  FunctionEngine,
  {
    readonly installed: boolean
    /** Its version, or that it is not installed. */
    readonly version: Effect.Effect<string, NotImplemented>
    /** Fetches the imports, and locks them. Runs nothing of the function. */
    readonly build: (
      files: SourceFiles,
      entrypoint: string
    ) => Effect.Effect<Uint8Array, Unprocessable | NotImplemented | GatewayTimeout>
    /** The files of a bundle, without its imports. */
    readonly files: (bundle: Uint8Array) => Effect.Effect<SourceFiles, NotImplemented>
    /** Starts a process, which ends with the scope. Completes when it accepts connections. */
    readonly start: (
      runnable: RunnableFunction
    ) => Effect.Effect<FunctionProcess, BadGateway | NotImplemented | Unavailable, Scope.Scope>
  }
>()("svc/services/FunctionEngine") {}
