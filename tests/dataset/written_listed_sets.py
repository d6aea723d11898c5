"""Small folders of images by class or list, in the layouts of the known sets."""

from __future__ import annotations

from pathlib import Path

from tests.dataset.image_set_writing import lines, png, put


def write_caltech256(folder: Path) -> None:
    for seed, name in enumerate(
        (
            "001.ak47/001_0001.jpg",
            "001.ak47/001_0002.jpg",
            "257.clutter/257_0001.jpg",
            "002.american-flag/002_0001.jpg",
            "010.beer-mug/a.txt",
        )
    ):
        put(folder / name, png(seed))


def write_div2k(folder: Path) -> None:
    for part, numbers in (("train", ("0001", "0002")), ("valid", ("0801",))):
        for seed, number in enumerate(numbers):
            put(folder / f"DIV2K_{part}_HR" / f"{number}.png", png(seed))
            for kind in ("bicubic", "unknown"):
                for scale in (2, 3, 4):
                    put(
                        folder / f"DIV2K_{part}_LR_{kind}" / f"X{scale}" / f"{number}x{scale}.png",
                        png(seed + 10 * scale),
                    )
            put(folder / f"DIV2K_{part}_LR_x8" / f"{number}x8.png", png(seed + 80))
            for kind, mark in (("mild", "m"), ("difficult", "d")):
                put(
                    folder / f"DIV2K_{part}_LR_{kind}" / f"{number}x4{mark}.png",
                    png(seed + 90 + ord(mark)),
                )
            for copy in range(1, 5 if part == "train" else 2):
                mark = f"w{copy}" if part == "train" else "w"
                put(
                    folder / f"DIV2K_{part}_LR_wild" / f"{number}x4{mark}.png",
                    png(seed + 200 + copy),
                )


def write_food101(folder: Path) -> None:
    for seed, name in enumerate(("waffles/1", "waffles/2", "apple_pie/3", "apple_pie/4")):
        put(folder / "images" / f"{name}.jpg", png(seed))
    put(folder / "meta" / "train.txt", lines(("waffles/2", "apple_pie/3")))
    put(folder / "meta" / "test.txt", lines(("waffles/1", "apple_pie/4")))
    put(folder / "meta" / "classes.txt", lines(("apple_pie", "waffles")))


def write_kitti(folder: Path) -> None:
    told = (
        "Car 0.00 0 -1.58 587.01 173.33 614.12 200.12 1.65 1.67 3.64 -0.65 1.71 46.70 -1.59",
        "Pedestrian 0.50 3 0.21 1 2 3.5 4 1.89 0.48 1.20 1.84 1.47 8.41 0.01",
        "DontCare -1 -1 -10 5.00 2.29 7.89 9.60 -1 -1 -1 -1000 -1000 -1000 -10",
    )
    for number, chosen in enumerate((told[:2], told[2:], told)):
        for start in (folder,):
            put(
                start / "data_object_image_2" / "training" / "image_2" / f"{number:06d}.png",
                png(number),
            )
            put(
                start / "data_object_label_2" / "training" / "label_2" / f"{number:06d}.txt",
                lines(chosen),
            )
    put(folder / "data_object_image_2" / "testing" / "image_2" / "000000.png", png(40))


def write_lfw(folder: Path) -> None:
    people = {"Ann_B": 3, "Carl_D": 2, "Eve_F": 1}
    for name, count in people.items():
        for number in range(1, count + 1):
            for part in ("lfw", "lfw_funneled", "lfw-deepfunneled"):
                put(
                    folder / part / name / f"{name}_{number:04d}.jpg",
                    png(len(part) + number + ord(name[0])),
                )
    same, other = "Ann_B\t1\t3", "Ann_B\t2\tCarl_D\t1"
    put(folder / "pairsDevTrain.txt", lines(("1", same, other)))
    put(folder / "pairsDevTest.txt", lines(("1", "Carl_D\t1\t2", "Eve_F\t1\tCarl_D\t2")))
    put(
        folder / "pairs.txt",
        lines(("2\t1", "Ann_B\t2\t3", other, "Carl_D\t1\t2", "Eve_F\t1\tCarl_D\t2")),
    )
    put(folder / "peopleDevTrain.txt", lines(("2", "Ann_B\t3", "Carl_D\t2")))
    put(folder / "peopleDevTest.txt", lines(("1", "Eve_F\t1")))
    put(folder / "people.txt", lines(("2", "2", "Eve_F\t1", "Carl_D\t2", "1", "Ann_B\t3")))
    listed = sorted(people, reverse=True)
    put(folder / "lfw-names.txt", lines(f"{name}\t{people[name]}" for name in listed))


def write_lsun(folder: Path) -> None:
    for seed, name in enumerate(
        (
            "bedroom_train/b.jpg",
            "bedroom_train/a.jpg",
            "church_outdoor_train/c.jpg",
            "bedroom_val/d.jpg",
            "church_outdoor_val/e.jpg",
            "test/f.jpg",
        )
    ):
        put(folder / name, png(seed))
    for name in (
        "bridge classroom conference_room dining_room kitchen living_room restaurant tower".split()
    ):
        for part in ("train", "val"):
            put(folder / f"{name}_{part}" / "x.jpg", png(len(name)))


def write_omniglot(folder: Path) -> None:
    for part in ("background", "evaluation"):
        for seed, name in enumerate(
            (
                "Greek/character02/0394_01.png",
                "Greek/character01/0393_02.png",
                "Greek/character01/0393_01.png",
                "Korean/character01/0539_01.png",
            )
        ):
            put(folder / f"images_{part}" / name, png(seed + 10 * len(part.strip("b"))))


def write_places365(folder: Path) -> None:
    put(folder / "categories_places365.txt", lines(("/a/abbey 0", "/b/barn 1", "/b/bar/inner 2")))
    listed = ("/b/barn/00000001.jpg 1", "/a/abbey/00000002.jpg 0", "/b/bar/inner/00000003.jpg 2")
    for part in ("standard", "challenge"):
        put(folder / f"places365_train_{part}.txt", lines(listed))
    put(
        folder / "places365_val.txt",
        lines(("Places365_val_00000002.jpg 2", "Places365_val_00000001.jpg 0")),
    )
    for part in (
        "data_256_standard",
        "data_256_challenge",
        "data_large_standard",
        "data_large_challenge",
        "data_256",
        "data_large",
    ):
        for seed, entry in enumerate(listed):
            put(folder / part / entry.split()[0][1:], png(seed + len(part)))
    for part in ("val_256", "val_large"):
        for number in (1, 2):
            put(folder / part / f"Places365_val_0000000{number}.jpg", png(number + len(part)))


def write_rendered_sst2(folder: Path) -> None:
    for seed, name in enumerate(
        (
            "train/positive/0.png",
            "train/negative/0.png",
            "train/negative/1.png",
            "valid/positive/2.png",
            "valid/negative/3.png",
            "test/negative/4.png",
            "test/positive/0.png",
        )
    ):
        put(folder / name, png(seed))


def write_sbu(folder: Path) -> None:
    start = "http://static.flickr.com/"
    urls = ("2723/4385058960_b0f291553e.jpg", "3326/2_x.jpg", "9/absent.jpg", "11/3_y.jpg")
    put(folder / "SBU_captioned_photo_dataset_urls.txt", lines(start + url for url in urls))
    put(
        folder / "SBU_captioned_photo_dataset_captions.txt",
        lines(("a car  ", "the sea", "nothing", "an ä")),
    )
    for seed, url in enumerate(urls):
        if "absent" not in url:
            put(folder / "sbu_images" / f"m_{url.replace('/', '_')}", png(seed))


def write_sun397(folder: Path) -> None:
    put(folder / "ClassName.txt", lines(("/a/abbey", "/b/bar/inner", "/b/barn")))
    for seed, name in enumerate(
        ("b/barn/sun_c.jpg", "a/abbey/sun_b.jpg", "a/abbey/sun_a.jpg", "b/bar/inner/sun_d.jpg")
    ):
        put(folder / name, png(seed))


def write_wider_face(folder: Path) -> None:
    one = [
        "1--Hand/1_b.jpg",
        "1",
        "5 6 7 8 0 0 0 0 0 0 ",
        "2--Fair/2_g.jpg",
        "1",
        "5 6 7 9 0 0 0 0 0 0 ",
        "0--Parade/0_a.jpg",
        "2",
        "449 330 122 149 0 1 0 1 0 0 ",
        "1 2 3 4 2 0 1 0 2 1 ",
    ]
    put(folder / "wider_face_split" / "wider_face_train_bbx_gt.txt", lines(one))
    put(
        folder / "wider_face_split" / "wider_face_val_bbx_gt.txt",
        lines(
            (
                "0--Parade/0_c.jpg",
                "0",
                "0 0 0 0 0 0 0 0 0 0 ",
                "1--Hand/1_d.jpg",
                "1",
                "9 9 9 9 1 1 1 0 1 1 ",
                "2--Fair/2_h.jpg",
                "1",
                "7 7 7 7 0 1 0 0 1 0 ",
            )
        ),
    )
    put(
        folder / "wider_face_split" / "wider_face_test_filelist.txt",
        lines(("1--Hand/1_f.jpg", "0--Parade/0_e.jpg")),
    )
    for seed, name in enumerate(
        (
            "train/images/0--Parade/0_a.jpg",
            "train/images/1--Hand/1_b.jpg",
            "val/images/0--Parade/0_c.jpg",
            "val/images/1--Hand/1_d.jpg",
            "test/images/0--Parade/0_e.jpg",
            "test/images/1--Hand/1_f.jpg",
            "train/images/2--Fair/2_g.jpg",
            "val/images/2--Fair/2_h.jpg",
        )
    ):
        put(folder / f"WIDER_{name}", png(seed))
