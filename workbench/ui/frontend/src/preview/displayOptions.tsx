// Display options: number and size of tiles, lossless pictures.

import { Select } from "../lib/fields";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { Popover } from "../lib/popover";
import type { SheetHeader, TileEntry } from "../payloads";

const COUNTS = [4, 8, 16, 32, 64];
const SIZES = [64, 96, 128, 160, 224, 320, 448];

interface Props {
  link: Link<"preview">;
  header: SheetHeader | undefined;
  /** Tiles on the screen. */
  tiles: TileEntry[];
  /** True if the number of tiles is shown elsewhere. */
  filtered: boolean;
}

export function DisplayOptions({ link, header, tiles, filtered }: Props) {
  const count = useField(link, "tiles", 16);
  const size = useField(link, "tile_size", 0);
  const mode = useField(link, "mode", "both");
  const baselines = useField(link, "baselines", []);
  const baseline = useField(link, "baseline", "");
  const lossless = useField(link, "lossless", false);
  const button = {
    class: "wb-shown",
    "data-wb": "shown",
    "data-tip": header && "Number and size of tiles, lossless pictures",
    children: [<span>{header && !filtered ? countsText(header, tiles) : "tiles"}</span>, <Icon name="down" size={11} />],
  };
  return (
    <span>
      <Popover label="Display options" align="end" button={button}>
        <div class="wb-view">
          <Choice
            label="Maximum number of samples"
            name="count"
            options={withOwn(COUNTS, count).map((n) => [String(n), String(n)])}
            value={String(count)}
            set={(value) => link.set("tiles", Number(value))}
          />
          <Choice
            label="Tile size"
            name="size"
            options={[
              ["0", "automatic"],
              ...withOwn(SIZES, size).map((n): [string, string] => [String(n), `${n} × ${n}`]),
            ]}
            value={String(size)}
            set={(value) => link.set("tile_size", Number(value))}
          />
          <Choice
            label="Difference from"
            name="baseline"
            hidden={mode !== "difference"}
            options={[
              ["", "first suitable node"],
              ...baselines.map((id): [string, string] => [id, id]),
            ]}
            value={baseline}
            set={(value) => link.set("baseline", value)}
          />
          <label class="wb-check">
            <input
              type="checkbox"
              id="wb-lossless"
              data-wb="lossless"
              checked={lossless}
              onChange={(event) => link.set("lossless", event.currentTarget.checked)}
            />
            <span>
              Lossless
              <small>Exact pixels instead of JPEG; transfers more data</small>
            </span>
          </label>
        </div>
      </Popover>
    </span>
  );
}

function countsText({ of }: SheetHeader, tiles: TileEntry[]): string {
  const bad = tiles.filter((tile) => tile.error).length;
  const left = bad ? ` · ${bad} skipped` : "";
  return `${tiles.length - bad} of ${of} shown${left}`;
}

function withOwn(usual: number[], own: number): number[] {
  return [...new Set(own ? [...usual, own] : usual)].sort((a, b) => a - b);
}

interface ChoiceProps {
  label: string;
  name: string;
  options: [string, string][];
  value: string;
  set: (value: string) => void;
  hidden?: boolean;
}

function Choice({ label, name, options, value, set, hidden = false }: ChoiceProps) {
  return (
    <div class="wb-view-row" hidden={hidden}>
      <span aria-hidden="true">{label}</span>
      <Select name={label} data-wb={name} options={options} value={value} choose={set} />
    </div>
  );
}
