import { oneOf, text } from "../../domain/Settings.ts"

/** Whether a start upgrades an older data directory: with programs that are installed, or also with downloaded ones. */
export const upgradeAtStart = oneOf("SVC_PG_UPGRADE", "off", ["off", "installed", "download"])

/** The directory of the server programs of the older version. */
export const oldProgramsDirectory = text("PG_BIN_DIR_OLD", undefined)
