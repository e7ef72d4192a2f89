import { Effect } from "effect"
import cluster from "node:cluster"
import { availableParallelism } from "node:os"
import { SettingError, text } from "../../domain/Settings.ts"

const maxWorkers = 256

/** SVC_WORKERS: the number of worker processes; 1: this process alone. */
export const workerCount = Effect.flatMap(text("SVC_WORKERS", "1"), (given) => {
  const count =
    given === "auto" ? Math.min(availableParallelism(), maxWorkers) : /^\d+$/.test(given) ? Number(given) : 0
  return count >= 1 && count <= maxWorkers
    ? Effect.succeed(count)
    : Effect.fail(
        new SettingError({
          message: `SVC_WORKERS must be a whole number from 1 to ${maxWorkers}, or auto, but it is "${given}"`
        })
      )
})

/** The variable with a worker's number, from 1. */
export const numberVariable = "SVC_WORKER"

/** The number of this worker; undefined in a process that is not a worker. */
export const workerNumber = cluster.isWorker ? process.env[numberVariable] : undefined

/**
 * Whether the workers' sockets share the port in the kernel (SO_REUSEPORT), which distributes connections at no cost and
 * loses none when a worker is killed. Elsewhere node:cluster distributes them.
 */
export const sharesPort = process.platform === "linux"
