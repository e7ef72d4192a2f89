import { Effect, Exit } from "effect"
import { type BoundedPool } from "../BoundedPool.ts"
import { type RowConnection } from "./Connection.ts"

/** A connection in exclusive use. `give` or `drop` ends the use, whichever is called first. */
export interface Used<C> {
  readonly connection: C
  readonly give: () => void
  readonly drop: () => void
}

/**
 * Uses a pool's connection exclusively, as one of the `client`'s. `body` must end the use, and may do so after its effect has completed. If it is
 * interrupted, the statement is cancelled and the connection closed, because statements may still be queued on it.
 */
export const useConnection = <C extends { readonly connection: RowConnection }, A, E>(
  pool: BoundedPool<C, unknown>,
  client: string,
  body: (used: Used<C>) => Effect.Effect<A, E>
): Effect.Effect<A, unknown> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(pool.take(client), (connection) => {
      let over = false
      const once = (end: (connection: C) => void) => () => {
        if (over) return
        over = true
        end(connection)
      }
      const drop = once(pool.drop)
      return Effect.onExit(restore(Effect.suspend(() => body({ connection, give: once(pool.give), drop }))), (exit) =>
        Effect.sync(() => {
          if (!Exit.isFailure(exit) || !Exit.hasInterrupts(exit) || over) return
          // The cancellation may arrive after the statement's end, so the connection must not be given back meanwhile.
          over = true
          connection.connection.cancel(() => pool.drop(connection))
        })
      )
    })
  )
