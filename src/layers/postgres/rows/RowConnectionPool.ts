import { Effect, Exit } from "effect"
import { BoundedPool, type BoundedPoolOptions } from "../BoundedPool.ts"
import { type RowConnection } from "./Connection.ts"

/** A connection in exclusive use. `give` or `drop` ends the use, whichever is called first. */
export interface Used<C> {
  readonly connection: C
  readonly give: () => void
  readonly drop: () => void
}

/** A bounded number of connections for rows, with what a pool knows of each. */
export class RowConnectionPool<C extends { readonly connection: RowConnection }> extends BoundedPool<C, unknown> {
  constructor(options: Pick<BoundedPoolOptions<C, unknown>, "size" | "open" | "isOwed">) {
    super({
      ...options,
      close: ({ connection }) => connection.close(),
      isDead: ({ connection }) => connection.dead
    })
  }

  /**
   * Uses a connection exclusively, as one of the `client`'s. `body` must end the use, and may do so after its effect has
   * completed. If it is interrupted, the statement is cancelled and the connection closed, because statements may still be
   * queued on it.
   */
  whole<A, E>(client: string, body: (used: Used<C>) => Effect.Effect<A, E>): Effect.Effect<A, unknown> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(this.take(client), (connection) => {
        let over = false
        const once = (end: (connection: C) => void) => () => {
          if (over) return
          over = true
          end(connection)
        }
        const used = { connection, give: once(this.give), drop: once(this.drop) }
        return Effect.onExit(restore(Effect.suspend(() => body(used))), (exit) =>
          Effect.sync(() => {
            if (!Exit.isFailure(exit) || !Exit.hasInterrupts(exit) || over) return
            // The cancellation may arrive after the statement's end, so the connection must not be given back meanwhile.
            over = true
            connection.connection.cancel(() => this.drop(connection))
          })
        )
      })
    )
  }
}
