// The graph, to be composed: React Flow in the frame that every component has.

import { CanvasStore } from "./canvas/canvasStore";
import { mount } from "./canvas/mount";
import { component } from "./lib/component";
import css from "./styles/canvas.css";

export default component("canvas", css, (root, link) => mount(new CanvasStore(link, root)));
