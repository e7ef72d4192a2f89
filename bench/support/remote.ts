/** Calls to another process of the run, over Node's IPC channel. */
import { once } from "node:events"
import { startRemote, stop } from "./processes.ts"

type Calls = Readonly<Record<string, (argument: never) => unknown>>

interface Question {
  readonly id: number
  readonly name: string
  readonly argument: unknown
}

interface Answer {
  readonly id: number
  readonly value?: unknown
  readonly error?: string
}

/** A program that implements `A`. */
export interface Remote<A extends Calls> {
  readonly pid: number
  readonly call: <Name extends keyof A>(
    name: Name,
    argument: Parameters<A[Name]>[0]
  ) => Promise<Awaited<ReturnType<A[Name]>>>
  readonly stop: () => Promise<void>
}

/** In the child process: answers calls until the parent ends. */
export const serve = (calls: Calls) => {
  const functions = calls as Readonly<Record<string, (argument: unknown) => unknown>>
  process.on("disconnect", () => process.exit())
  process.on("message", async ({ argument, id, name }: Question) => {
    try {
      process.send?.({ id, value: await functions[name]?.(argument) })
    } catch (error) {
      process.send?.({ id, error: String(error) })
    }
  })
}

/** Starts a program of bench/ that serves `A`. If it ends early, all calls fail. */
export const remote = <A extends Calls>(file: string): Remote<A> => {
  const child = startRemote(file)
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let last = 0
  child.on("message", ({ error, id, value }: Answer) => {
    const call = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) call?.resolve(value)
    else call?.reject(new Error(`${file}: ${error}`))
  })
  void once(child, "exit").then(() => {
    for (const { reject } of waiting.values()) reject(new Error(`${file} has ended`))
  })
  return {
    pid: child.pid ?? 0,
    call: (name, argument) => {
      const question: Question = { id: ++last, name: String(name), argument }
      const call = Promise.withResolvers<unknown>()
      waiting.set(question.id, call)
      child.send(question, (error) => error && call.reject(error))
      return call.promise as never
    },
    stop: () => stop(child)
  }
}
