import { Layer } from "effect"
import { ChartHistory } from "./History.ts"
import { layerChartRecorder } from "./Recorder.ts"

/** Charts, and what records their points. */
export const layer = Layer.mergeAll(ChartHistory.layer, layerChartRecorder)
