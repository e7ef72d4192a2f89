import { Layer } from "effect"
import { MigrationHistories } from "./Histories.ts"
import { Migrations } from "./Migrations.ts"
import { MigrationRunner } from "./Runner.ts"
import { MigrationTurns } from "./Turns.ts"

/** The user's migration files. */
export const layer = Migrations.layer.pipe(
  Layer.provide(Layer.mergeAll(MigrationHistories.layer, MigrationRunner.layer, MigrationTurns.layer))
)
