import { Layer } from "effect"
import { BackupSettings } from "./BackupSettings.ts"
import { BranchSettings } from "./BranchSettings.ts"
import { ConnectionSettings } from "./ConnectionSettings.ts"
import { EnvironmentSettings } from "./EnvironmentSettings.ts"
import { FlagSettings } from "./FlagSettings.ts"
import { IdentitySettings } from "./IdentitySettings.ts"
import { MigrationSettings } from "./MigrationSettings.ts"
import { RealtimeSettings } from "./RealtimeSettings.ts"
import { RowSettings } from "./RowSettings.ts"
import { WebhookSettings } from "./WebhookSettings.ts"

/** Every group of settings, so that what can be wrong with them is known before anything is started. */
export const layerAllSettings = Layer.mergeAll(
  BackupSettings.layer,
  BranchSettings.layer,
  ConnectionSettings.layer,
  EnvironmentSettings.layer,
  FlagSettings.layer,
  IdentitySettings.layer,
  MigrationSettings.layer,
  RealtimeSettings.layer,
  RowSettings.layer,
  WebhookSettings.layer
)
