import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"

/** A server that a fault ends or suspends. A pooler between the service and PostgreSQL would be one more. */
export interface Part {
  readonly signal: (name: NodeJS.Signals) => Promise<void> | void
  /** Ends it by SIGKILL. */
  readonly kill: () => Promise<unknown>
  /** Starts it again after that; returns when it answers. */
  readonly start: () => Promise<void>
}

const running = new Set<ChildProcess>()
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL")
})

/** A program that can be started again, at the same addresses. */
export class Program implements Part {
  /** The end of what it has written. */
  output = ""
  private readonly command: ReadonlyArray<string>
  private readonly env: Readonly<Record<string, string>>
  private readonly isReady: () => Promise<boolean>
  private child: ChildProcess | undefined

  constructor(
    command: ReadonlyArray<string>,
    env: Readonly<Record<string, string>>,
    isReady: () => Promise<boolean> = () => Promise.resolve(true)
  ) {
    this.command = command
    this.env = { PATH: process.env["PATH"] ?? "", ...env }
    this.isReady = isReady
  }

  launch() {
    const [program = "", ...args] = this.command
    const child = spawn(program, args, { env: this.env, stdio: ["ignore", "pipe", "pipe"] })
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (this.output = (this.output + text).slice(-200_000)))
    running.add(child)
    child.on("error", (error) => (this.output += error.message))
    child.on("exit", () => running.delete(child))
    this.child = child
  }

  async start() {
    this.launch()
    for (const deadline = Date.now() + 60_000; !(await this.isReady()); await sleep(50)) {
      if (Date.now() > deadline) throw new Error(`${this.command.join(" ")} is not ready:\n${this.output}`)
    }
  }

  signal(name: NodeJS.Signals) {
    this.child?.kill(name)
  }

  kill() {
    return this.end("SIGKILL")
  }

  /** Its exit code after a signal that ends it. */
  async end(name: NodeJS.Signals): Promise<number | null> {
    const { child } = this
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null
    const ended = once(child, "exit")
    this.signal(name)
    await ended
    return child.exitCode
  }
}
