"""The wheel holds programs and shared libraries, but nothing that depends on a version of Python: one for
all of them. packaging/wheel puts them beside the sources first."""

import os

from setuptools import Distribution, setup
from wheel.bdist_wheel import bdist_wheel


class OneForAll(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class WithLibraries(Distribution):
    def has_ext_modules(self):
        return True


setup(version=os.environ["STAP_VERSION"], cmdclass={"bdist_wheel": OneForAll}, distclass=WithLibraries)
